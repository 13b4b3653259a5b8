// SPDX-License-Identifier: GPL-2.0-only
#include <linux/array_size.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "buffer.h"
#include "compat.h"
#include "ops.h"

/* What a sample costs by itself: both counter reads and the indirect call. */
static int nop_op(struct pagemix_run_ctx *ctx)
{
	return 0;
}

static const struct pagemix_op pagemix_op_nop = {
	.name = "nop",
	.op = nop_op,
};

static const struct pagemix_op *const ops[] = {
	&pagemix_op_nop,
	&pagemix_op_map_sgtable,
	&pagemix_op_unmap_sgtable,
	&pagemix_op_attach_map,
	&pagemix_op_map_page,
	&pagemix_op_map_single,
	&pagemix_op_unmap_page,
	&pagemix_op_iommu_map,
	&pagemix_op_iommu_map_sg,
	&pagemix_op_iommu_unmap,
	&pagemix_op_sync_begin,
	&pagemix_op_sync_end,
	&pagemix_op_coherent_alloc,
	&pagemix_op_coherent_free,
	&pagemix_op_pool_alloc,
	&pagemix_op_pool_free,
#ifdef PAGEMIX_HAS_IOVA_LINK
	&pagemix_op_iova_link,
	&pagemix_op_iova_unlink,
#endif
};

u32 pagemix_nr_ops(void)
{
	return ARRAY_SIZE(ops);
}

const struct pagemix_op *pagemix_op_at(u32 index)
{
	return index < ARRAY_SIZE(ops) ? ops[index] : NULL;
}

const struct pagemix_op *pagemix_op_find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		if (!strcmp(ops[i]->name, name))
			return ops[i];
	return NULL;
}

/* What is mapped stays for the device to use, until a signal or the unbind. */
static int hold(const struct pagemix_run_ctx *ctx)
{
	int err;

	for (;;) {
		err = pagemix_run_interrupted(ctx);
		if (err)
			return err;
		schedule_timeout_interruptible(msecs_to_jiffies(20));
	}
}

static int run_once(const struct pagemix_op *op, struct pagemix_run_ctx *ctx,
		    struct pagemix_sample *sample)
{
	int err;

	if (op->prepare) {
		err = op->prepare(ctx);
		if (err)
			return err;
	}
	sample->begin = pagemix_counter();
	err = op->op(ctx);
	sample->end = pagemix_counter();
	if (err)
		return err;
	if (ctx->hold)
		err = hold(ctx);
	if (op->restore)
		op->restore(ctx);
	return err;
}

/**
 * pagemix_run_interrupted - must the run end before its time?
 * @ctx: the run
 *
 * Return: 0, -EINTR on a signal, -ENODEV when the device goes.
 */
int pagemix_run_interrupted(const struct pagemix_run_ctx *ctx)
{
	if (READ_ONCE(*ctx->gone))
		return -ENODEV;
	if (signal_pending(current))
		return -EINTR;
	cond_resched();
	return 0;
}

/*
 * All mappings of a cold run stay until its end. Each takes at most a
 * scatter-gather table, and the page tables of its range: 8 bytes a page, whole
 * pages.
 */
static bool cold_fits(const struct pagemix_run_ctx *ctx)
{
	const struct pagemix_buffer *buffer = pagemix_buffer_of(ctx->dmabuf);
	u64 bytes = buffer->chunks.nr * sizeof(struct scatterlist) +
		    PAGE_ALIGN((buffer->bytes >> PAGE_SHIFT) * sizeof(u64)) + PAGE_SIZE;

	return ctx->repetitions <= (u64)(totalram_pages() / 2) * PAGE_SIZE / bytes;
}

/**
 * pagemix_op_run - warm up, then take the samples
 * @op:  the operation
 * @ctx: the run; @ctx->completed counts the samples, also after an error
 *
 * Return: 0, -EINTR on a signal, -ENODEV when the device goes, -ENOMEM when a cold
 * run would take more than half of the memory, or the operation's error.
 */
int pagemix_op_run(const struct pagemix_op *op, struct pagemix_run_ctx *ctx)
{
	struct pagemix_sample unused;
	int err = 0;
	u32 i;

	if (ctx->cold && ctx->dmabuf && !cold_fits(ctx))
		return -ENOMEM;
	if (op->setup) {
		err = op->setup(ctx);
		if (err)
			return err;
	}
	/* Cold unmaps: every range is mapped before the first one is given back. */
	for (i = 0; !err && ctx->cold && op->fill && i < ctx->repetitions; i++) {
		err = pagemix_run_interrupted(ctx);
		if (!err)
			err = op->fill(ctx);
	}
	for (i = 0; !err && i < ctx->warmup; i++) {
		err = pagemix_run_interrupted(ctx);
		if (!err)
			err = run_once(op, ctx, &unused);
	}
	while (!err && ctx->completed < ctx->repetitions) {
		err = pagemix_run_interrupted(ctx);
		if (!err)
			err = run_once(op, ctx, &ctx->samples[ctx->completed]);
		if (!err)
			ctx->completed++;
	}
	if (op->teardown)
		op->teardown(ctx);
	return err;
}

static int cmp_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/**
 * pagemix_sample_overhead - what every sample contains besides the operation
 *
 * Return: median ticks of 1001 samples of nothing; 0 without memory.
 */
u64 pagemix_sample_overhead(void)
{
	const u32 n = 1001;
	struct pagemix_run_ctx ctx = {};
	struct pagemix_sample sample;
	u64 *ticks, median;
	u32 i;

	ticks = kmalloc_array(n, sizeof(*ticks), GFP_KERNEL);
	if (!ticks)
		return 0;
	for (i = 0; i < n; i++) {
		run_once(&pagemix_op_nop, &ctx, &sample);
		ticks[i] = sample.end - sample.begin;
	}
	sort(ticks, n, sizeof(*ticks), cmp_u64, NULL);
	median = ticks[n / 2];
	kfree(ticks);
	return median;
}
