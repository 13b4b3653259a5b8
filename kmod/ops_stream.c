// SPDX-License-Identifier: GPL-2.0-only
/*
 * Streaming DMA of a whole buffer: dma_map_sgtable() and dma_unmap_sgtable(), and
 * what an importer pays that keeps nothing.
 *
 * A slot is a scatter-gather table, one entry a chunk. It is made before, as an
 * importer's is by the attach; the DMA API call alone is timed.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>

#include "buffer.h"
#include "compat.h"
#include "ops.h"

static int sgtable_init(struct pagemix_run_ctx *ctx, void *slot, u32 index)
{
	return pagemix_buffer_sgtable(ctx->buffer, slot);
}

static void sgtable_exit(struct pagemix_run_ctx *ctx, void *slot)
{
	sg_free_table(slot);
}

static int sgtable_map(struct pagemix_run_ctx *ctx, void *slot)
{
	return dma_map_sgtable(ctx->dev, slot, ctx->direction, ctx->attrs);
}

static int sgtable_unmap(struct pagemix_run_ctx *ctx, void *slot)
{
	dma_unmap_sgtable(ctx->dev, slot, ctx->direction, ctx->attrs);
	return 0;
}

static void sgtable_note(struct pagemix_run_ctx *ctx, const void *slot)
{
	const struct sg_table *table = slot;

	ctx->iova = sg_dma_address(table->sgl);
	ctx->nr_mapped = table->nents;
}

const struct pagemix_pair pagemix_sgtable = {
	.needs_buffer = true,
	.takes_attrs = true,
	.cold = PAGEMIX_COLD_ALL,
	.slot_size = sizeof(struct sg_table),
	.slot_init = sgtable_init,
	.apply = sgtable_map,
	.undo = sgtable_unmap,
	.note = sgtable_note,
	.slot_exit = sgtable_exit,
};

/* Attach, map, unmap, detach. */
static int attach_map(struct pagemix_run_ctx *ctx, void *slot)
{
	struct dma_buf_attachment *attachment = dma_buf_attach(ctx->dmabuf, ctx->dev);
	struct sg_table *table;

	if (IS_ERR(attachment))
		return PTR_ERR(attachment);
	table = dma_buf_map_attachment_unlocked(attachment, ctx->direction);
	if (!IS_ERR(table)) {
		sgtable_note(ctx, table);
		dma_buf_unmap_attachment_unlocked(attachment, table, ctx->direction);
	}
	dma_buf_detach(ctx->dmabuf, attachment);
	return PTR_ERR_OR_ZERO(table);
}

const struct pagemix_pair pagemix_attach = {
	.needs_buffer = true,
	.apply = attach_map,
};
