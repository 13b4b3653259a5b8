/* SPDX-License-Identifier: GPL-2.0-only */
/* Repeatable random numbers: the same seed gives the same shuffle everywhere. */
#ifndef PAGEMIX_RANDOM_H
#define PAGEMIX_RANDOM_H

#include <linux/types.h>

/* SplitMix64: public domain generator by Sebastiano Vigna, 2015. */
static inline u64 pagemix_random(u64 *state)
{
	u64 z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

#endif /* PAGEMIX_RANDOM_H */
