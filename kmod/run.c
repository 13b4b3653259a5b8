// SPDX-License-Identifier: GPL-2.0-only
/*
 * The loop that does and undoes a pair, and times one half of it.
 *
 * Warm: one slot, in which both halves alternate. Cold: see enum pagemix_cold;
 * what was done first is undone first, as a queue of buffers would give them back.
 */
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/scatterlist.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "buffer.h"
#include "ops.h"

/**
 * struct pagemix_slots - where a run stands
 * @op:    the operation
 * @ctx:   the run
 * @mem:   all slots
 * @first: with @end, the slots that are applied before others are undone
 * @end:   first one behind them
 */
struct pagemix_slots {
	const struct pagemix_op *op;
	struct pagemix_run_ctx *ctx;
	void *mem;
	u32 first;
	u32 end;
};

static void *slot_at(const struct pagemix_slots *s, u32 i)
{
	return s->mem + i * s->ctx->slot_size;
}

static int slot_init(const struct pagemix_slots *s, u32 i)
{
	const struct pagemix_pair *pair = s->op->pair;

	return pair->slot_init ? pair->slot_init(s->ctx, slot_at(s, i), i) : 0;
}

static void slot_exit(const struct pagemix_slots *s, u32 i)
{
	const struct pagemix_pair *pair = s->op->pair;

	if (pair->slot_exit)
		pair->slot_exit(s->ctx, slot_at(s, i));
}

static void slot_note(const struct pagemix_slots *s, u32 i)
{
	const struct pagemix_pair *pair = s->op->pair;

	if (pair->note)
		pair->note(s->ctx, slot_at(s, i));
}

/* What every sample is made by, also those of nothing: one copy of the code. */
static noinline int timed(int (*half)(struct pagemix_run_ctx *ctx, void *slot),
			  struct pagemix_run_ctx *ctx, void *slot, struct pagemix_sample *sample)
{
	int err;

	sample->begin = pagemix_counter();
	err = half(ctx, slot);
	sample->end = pagemix_counter();
	return err;
}

/* In cold runs the slot is made before, and gone if it is not applied. */
static int slot_apply(const struct pagemix_slots *s, u32 i, struct pagemix_sample *sample)
{
	int err = s->ctx->cold ? slot_init(s, i) : 0;

	if (err)
		return err;
	err = timed(s->op->pair->apply, s->ctx, slot_at(s, i), sample);
	if (err && s->ctx->cold)
		slot_exit(s, i);
	return err;
}

static int slot_undo(const struct pagemix_slots *s, u32 i, struct pagemix_sample *sample)
{
	int err = 0;

	if (s->op->pair->undo)
		err = timed(s->op->pair->undo, s->ctx, slot_at(s, i), sample);
	if (s->ctx->cold)
		slot_exit(s, i);
	return err;
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

/* Both halves, one after the other. */
static int repeat_cycle(struct pagemix_slots *s, struct pagemix_sample *sample)
{
	const bool times_undo = s->op->half == PAGEMIX_UNDO;
	struct pagemix_sample unused;
	int err, undo_err;

	err = slot_apply(s, 0, times_undo ? &unused : sample);
	if (err)
		return err;
	slot_note(s, 0);
	if (s->ctx->hold)
		err = hold(s->ctx);
	undo_err = slot_undo(s, 0, times_undo ? sample : &unused);
	return err ? err : undo_err;
}

/* The first half, which stays. */
static int repeat_apply(struct pagemix_slots *s, struct pagemix_sample *sample)
{
	int err = slot_apply(s, s->end, sample);

	if (!err)
		slot_note(s, s->end++);
	return err;
}

/* The second half of what was done first. */
static int repeat_undo(struct pagemix_slots *s, struct pagemix_sample *sample)
{
	slot_note(s, s->first);
	return slot_undo(s, s->first++, sample);
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

/* Calls @repeat @n times; samples go to @samples, or nowhere. */
static int run_times(struct pagemix_slots *s,
		     int (*repeat)(struct pagemix_slots *s, struct pagemix_sample *sample), u32 n,
		     struct pagemix_sample *samples)
{
	struct pagemix_sample unused;
	int err = 0;
	u32 i;

	for (i = 0; !err && i < n; i++) {
		err = pagemix_run_interrupted(s->ctx);
		if (!err)
			err = repeat(s, samples ? &samples[i] : &unused);
		if (!err && samples)
			s->ctx->completed++;
	}
	return err;
}

static int run_cold(struct pagemix_slots *s)
{
	struct pagemix_run_ctx *ctx = s->ctx;
	struct pagemix_sample unused;
	int err;

	if (s->op->half == PAGEMIX_APPLY) {
		err = run_times(s, repeat_apply, ctx->repetitions, ctx->samples);
	} else {
		err = run_times(s, repeat_apply, ctx->repetitions, NULL);
		if (!err)
			err = run_times(s, repeat_undo, ctx->repetitions, ctx->samples);
	}
	while (s->first < s->end) {
		slot_undo(s, s->first++, &unused);
		cond_resched();
	}
	return err;
}

static int run_warm(struct pagemix_slots *s)
{
	struct pagemix_run_ctx *ctx = s->ctx;
	int err;

	err = ctx->cold ? 0 : slot_init(s, 0);
	if (err)
		return err;
	err = run_times(s, repeat_cycle, ctx->warmup, NULL);
	if (!err)
		err = run_times(s, repeat_cycle, ctx->repetitions, ctx->samples);
	if (!ctx->cold)
		slot_exit(s, 0);
	return err;
}

/*
 * All mappings of a cold run stay until its end. Each takes at most a
 * scatter-gather table, and the page tables of its range: 8 bytes a page, whole
 * pages.
 */
static bool cold_fits(const struct pagemix_run_ctx *ctx)
{
	u64 bytes = ctx->buffer->chunks.nr * sizeof(struct scatterlist) +
		    PAGE_ALIGN((ctx->buffer->bytes >> PAGE_SHIFT) * sizeof(u64)) + PAGE_SIZE;

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
	const struct pagemix_pair *pair = op->pair;
	const bool all = ctx->cold && pair->cold == PAGEMIX_COLD_ALL;
	struct pagemix_slots s = { .op = op, .ctx = ctx };
	int err;

	if (all && !cold_fits(ctx))
		return -ENOMEM;
	ctx->slot_size = pair->slot_size;
	err = pair->setup ? pair->setup(ctx) : 0;
	if (err)
		return err;
	/* More than the kernel gives is an answer here, no reason for a warning. */
	s.mem = kvzalloc(array_size(all ? ctx->repetitions : 1, ctx->slot_size),
			 GFP_KERNEL | __GFP_NOWARN);
	if (s.mem)
		err = all ? run_cold(&s) : run_warm(&s);
	else
		err = -ENOMEM;
	kvfree(s.mem);
	if (pair->teardown)
		pair->teardown(ctx);
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
 * Return: median ticks of 1001 samples of nothing: both reads of the counter and
 * the indirect call; 0 without memory.
 */
u64 pagemix_sample_overhead(void)
{
	const u32 n = 1001;
	struct pagemix_run_ctx ctx = {};
	const struct pagemix_slots s = { .op = pagemix_op_find("nop"), .ctx = &ctx };
	struct pagemix_sample sample;
	u64 *ticks, median;
	u32 i;

	ticks = kmalloc_array(n, sizeof(*ticks), GFP_KERNEL);
	if (!ticks)
		return 0;
	for (i = 0; i < n; i++) {
		slot_apply(&s, 0, &sample);
		ticks[i] = sample.end - sample.begin;
	}
	sort(ticks, n, sizeof(*ticks), cmp_u64, NULL);
	median = ticks[n / 2];
	kfree(ticks);
	return median;
}
