// A function that is recorded through compiler hooks without optimisation.
#pragma once

namespace unoptimised {

void uses_all_that_kymo_inlines();

}  // namespace unoptimised
