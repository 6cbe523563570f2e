// As stacks_program.cpp: works in functions of known names and prints each one's CPU time by the thread's own clock.
package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

func cpuNs() int64 {
	const threadCPUTime = 3
	var time syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, threadCPUTime, uintptr(unsafe.Pointer(&time)), 0)
	return time.Nano()
}

type cart struct{ value float64 }

//go:noinline
func (c *cart) weigh(units int) {
	for i := 0; i < units*100_000; i++ {
		c.value = 1 / (c.value + 1.5)
	}
}

//go:noinline
func count(c *cart, units int) {
	for i := 0; i < units*100_000; i++ {
		c.value = 1 / (c.value + 2.5)
	}
}

func main() {
	runtime.LockOSThread()
	c := cart{}
	var weighedNs, countedNs int64
	for round := 0; round < 150; round++ {
		startNs := cpuNs()
		c.weigh(3)
		middleNs := cpuNs()
		count(&c, 1)
		weighedNs += middleNs - startNs
		countedNs += cpuNs() - middleNs
	}
	fmt.Printf("shop::weigh %d\nshop::count %d\n", weighedNs, countedNs)
	if c.value > 2 {
		os.Exit(1)
	}
}
