// SPDX-License-Identifier: GPL-2.0-only
/*
 * Streaming DMA without a scatter-gather table, 6.16 and later: an IOVA range for
 * the whole buffer, dma_iova_link() of each run into it, one dma_iova_sync(); and
 * dma_iova_unlink() with dma_iova_free(). A slot is the range.
 */
#include <linux/dma-mapping.h>

#include "buffer.h"
#include "compat.h"
#include "ops.h"

#ifdef PAGEMIX_HAS_IOVA_LINK

static int iova_link(struct pagemix_run_ctx *ctx, void *slot)
{
	const struct pagemix_buffer *buffer = ctx->buffer;
	struct dma_iova_state *state = slot;
	size_t chunk = 0, offset = 0;
	struct pagemix_run run;
	int err = 0;

	if (!dma_iova_try_alloc(ctx->dev, state, 0, buffer->bytes))
		return -EOPNOTSUPP;
	while (pagemix_buffer_next_run(buffer, &chunk, &run)) {
		err = dma_iova_link(ctx->dev, state, run.phys, offset, run.bytes, ctx->direction,
				    ctx->attrs);
		if (err)
			goto undo;
		offset += run.bytes;
	}
	err = dma_iova_sync(ctx->dev, state, 0, buffer->bytes);
	if (err)
		goto undo;
	return 0;

undo:
	dma_iova_destroy(ctx->dev, state, offset, ctx->direction, ctx->attrs);
	return err;
}

static int iova_unlink(struct pagemix_run_ctx *ctx, void *slot)
{
	struct dma_iova_state *state = slot;

	dma_iova_unlink(ctx->dev, state, 0, ctx->buffer->bytes, ctx->direction, ctx->attrs);
	dma_iova_free(ctx->dev, state);
	return 0;
}

static void iova_note(struct pagemix_run_ctx *ctx, const void *slot)
{
	const struct dma_iova_state *state = slot;

	ctx->iova = state->addr;
	ctx->nr_mapped = 1;
}

const struct pagemix_pair pagemix_iova = {
	.needs_buffer = true,
	.takes_attrs = true,
	.cold = PAGEMIX_COLD_ALL,
	.slot_size = sizeof(struct dma_iova_state),
	.apply = iova_link,
	.undo = iova_unlink,
	.note = iova_note,
};

#endif /* PAGEMIX_HAS_IOVA_LINK */
