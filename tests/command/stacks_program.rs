// As stacks_program.cpp: works in functions of known names and prints each one's CPU time by the thread's own clock.

#[repr(C)]
struct TimeSpec {
    seconds: i64,
    nanoseconds: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, time: *mut TimeSpec) -> i32;
}

fn cpu_ns() -> i64 {
    const THREAD_CPU_TIME: i32 = 3;
    let mut time = TimeSpec { seconds: 0, nanoseconds: 0 };
    unsafe { clock_gettime(THREAD_CPU_TIME, &mut time) };
    time.seconds * 1_000_000_000 + time.nanoseconds
}

mod shop {
    pub struct Cart<T> {
        pub value: T,
    }

    pub trait Weigh {
        fn weigh(&mut self, units: u32);
    }

    fn divide(value: &mut f64, units: u32, step: f64) {
        for _ in 0..units * 100_000 {
            *value = 1.0 / (*value + step);
        }
    }

    impl Weigh for Cart<f64> {
        #[inline(never)]
        fn weigh(&mut self, units: u32) {
            divide(&mut self.value, units, 1.5);
        }
    }

    #[inline(never)]
    pub fn count(value: &mut f64, units: u32) {
        divide(value, units, 2.5);
    }
}

fn main() {
    use shop::Weigh;
    let rounds: u32 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(150);
    let mut cart = shop::Cart { value: 0.0 };
    let (mut weighed_ns, mut counted_ns) = (0, 0);
    for _ in 0..rounds {
        let start_ns = cpu_ns();
        cart.weigh(3);
        let middle_ns = cpu_ns();
        shop::count(&mut cart.value, 1);
        weighed_ns += middle_ns - start_ns;
        counted_ns += cpu_ns() - middle_ns;
    }
    println!("shop::weigh {}\nshop::count {}", weighed_ns, counted_ns);
    std::process::exit(if cart.value > 2.0 { 1 } else { 0 });
}
