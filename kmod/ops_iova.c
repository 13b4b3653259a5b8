// SPDX-License-Identifier: GPL-2.0-only
/*
 * Streaming DMA without a scatter-gather table, 6.16 and later: an IOVA range for
 * the whole buffer, dma_iova_link() of each run into it, one dma_iova_sync(); and
 * dma_iova_unlink() with dma_iova_free(). Both halves alternate, each operation
 * times one. In cold runs all links come before all unlinks.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "buffer.h"
#include "compat.h"
#include "ops.h"

#ifdef PAGEMIX_HAS_IOVA_LINK

/**
 * struct iova - state of a run
 * @buffer:    the buffer
 * @nr_linked: ranges that are linked, from the first on
 * @ranges:    one, or in cold runs one for each repetition
 */
struct iova {
	const struct pagemix_buffer *buffer;
	u32 nr_linked;
	struct dma_iova_state ranges[];
};

/* Links the range behind the linked ones. */
static int iova_link(struct pagemix_run_ctx *ctx)
{
	struct iova *s = ctx->priv;
	struct dma_iova_state *state = &s->ranges[s->nr_linked];
	size_t chunk = 0, offset = 0;
	struct pagemix_run run;
	int err = 0;

	if (!dma_iova_try_alloc(ctx->dev, state, 0, s->buffer->bytes))
		return -EOPNOTSUPP;
	while (pagemix_buffer_next_run(s->buffer, &chunk, &run)) {
		err = dma_iova_link(ctx->dev, state, run.phys, offset, run.bytes, ctx->direction,
				    0);
		if (err)
			goto undo;
		offset += run.bytes;
	}
	err = dma_iova_sync(ctx->dev, state, 0, s->buffer->bytes);
	if (err)
		goto undo;
	s->nr_linked++;
	return 0;

undo:
	dma_iova_destroy(ctx->dev, state, offset, ctx->direction, 0);
	return err;
}

/* Unlinks the last range that is linked. */
static int iova_unlink(struct pagemix_run_ctx *ctx)
{
	struct iova *s = ctx->priv;
	struct dma_iova_state *state = &s->ranges[--s->nr_linked];

	dma_iova_unlink(ctx->dev, state, 0, s->buffer->bytes, ctx->direction, 0);
	dma_iova_free(ctx->dev, state);
	return 0;
}

static void iova_note(struct pagemix_run_ctx *ctx)
{
	const struct iova *s = ctx->priv;

	ctx->iova = s->ranges[s->nr_linked - 1].addr;
	ctx->nr_mapped = 1;
}

static void iova_link_restore(struct pagemix_run_ctx *ctx)
{
	iova_note(ctx);
	if (!ctx->cold)
		iova_unlink(ctx);
}

static int iova_unlink_prepare(struct pagemix_run_ctx *ctx)
{
	int err = ctx->cold ? 0 : iova_link(ctx);

	if (!err)
		iova_note(ctx);
	return err;
}

static void iova_teardown(struct pagemix_run_ctx *ctx)
{
	struct iova *s = ctx->priv;

	while (s->nr_linked) {
		iova_unlink(ctx);
		cond_resched();
	}
	kvfree(s);
}

static int iova_setup(struct pagemix_run_ctx *ctx)
{
	u32 capacity = ctx->cold ? ctx->repetitions : 1;
	struct iova *s;

	s = kvzalloc(struct_size(s, ranges, capacity), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	s->buffer = pagemix_buffer_of(ctx->dmabuf);
	ctx->priv = s;
	return 0;
}

const struct pagemix_op pagemix_op_iova_link = {
	.name = "iova_link",
	.needs_buffer = true,
	.has_cold = true,
	.setup = iova_setup,
	.op = iova_link,
	.restore = iova_link_restore,
	.teardown = iova_teardown,
};

const struct pagemix_op pagemix_op_iova_unlink = {
	.name = "iova_unlink",
	.needs_buffer = true,
	.has_cold = true,
	.setup = iova_setup,
	.fill = iova_link,
	.prepare = iova_unlink_prepare,
	.op = iova_unlink,
	.teardown = iova_teardown,
};

#endif /* PAGEMIX_HAS_IOVA_LINK */
