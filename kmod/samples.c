// SPDX-License-Identifier: GPL-2.0-only
#include <linux/atomic.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>
#if IS_ENABLED(CONFIG_ARM64)
#include <asm/arch_timer.h>
#endif

#include "samples.h"

/**
 * pagemix_counter_hz - frequency of pagemix_counter()
 *
 * Return: hertz; 0 where it is not known.
 */
u64 pagemix_counter_hz(void)
{
#if IS_ENABLED(CONFIG_ARM64)
	return arch_timer_get_cntfrq();
#elif IS_ENABLED(CONFIG_X86)
	return (u64)tsc_khz * 1000;
#else
	return 0;
#endif
}

/**
 * pagemix_counter_step - how fine the counter is
 *
 * Return: smallest non-zero difference of two successive reads, in ticks; 0 if
 * the counter never moved.
 */
u64 pagemix_counter_step(void)
{
	u64 step = 0, last = pagemix_counter(), now;
	int i;

	for (i = 0; i < 1000; i++) {
		now = pagemix_counter();
		if (now != last)
			step = min_not_zero(step, now - last);
		last = now;
	}
	return step;
}

/**
 * pagemix_ring_make - allocate the samples
 * @ring:     empty ring
 * @capacity: samples, 1..PAGEMIX_MAX_SAMPLES
 *
 * Return: 0, -EBUSY if it was made before, -EINVAL, -ENOMEM.
 */
int pagemix_ring_make(struct pagemix_ring *ring, u64 capacity)
{
	struct pagemix_sample *v;

	if (ring->v)
		return -EBUSY;
	if (!capacity || capacity > PAGEMIX_MAX_SAMPLES)
		return -EINVAL;
	ring->bytes = PAGE_ALIGN(capacity * sizeof(*ring->v));
	v = vmalloc_user(ring->bytes);
	if (!v)
		return -ENOMEM;
	ring->capacity = capacity;
	/* mmap does not take the file's lock: it sees all of the ring or none. */
	smp_store_release(&ring->v, v);
	return 0;
}

/**
 * pagemix_ring_mmap - map the samples into user space
 * @ring: the ring
 * @vma:  at offset 0, not longer than the ring, shared
 *
 * Return: 0, -ENXIO before the ring is made, -EINVAL.
 */
int pagemix_ring_mmap(struct pagemix_ring *ring, struct vm_area_struct *vma)
{
	struct pagemix_sample *v = smp_load_acquire(&ring->v);

	if (!v)
		return -ENXIO;
	if (vma->vm_pgoff || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	return remap_vmalloc_range(vma, v, 0);
}

void pagemix_ring_free(struct pagemix_ring *ring)
{
	vfree(ring->v);
	ring->v = NULL;
}
