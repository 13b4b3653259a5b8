// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPU access to a mapped buffer: dma_buf_begin_cpu_access() and
 * dma_buf_end_cpu_access().
 *
 * One attachment is made and mapped for the whole run, as by a driver that keeps
 * a queue of buffers mapped. Of a coherent device what remains is the walk over
 * the scatter-gather table; otherwise caches are cleaned and invalidated. Nothing
 * here depends on fresh addresses: there is no cold run.
 */
#include <linux/dma-buf.h>
#include <linux/slab.h>

#include "compat.h"
#include "ops.h"

/**
 * struct pagemix_sync - state of a run
 * @attachment: to the buffer
 * @table:      its mapping
 */
struct pagemix_sync {
	struct dma_buf_attachment *attachment;
	struct sg_table *table;
};

static int sync_begin(struct pagemix_run_ctx *ctx, void *slot)
{
	return dma_buf_begin_cpu_access(ctx->dmabuf, ctx->direction);
}

static int sync_end(struct pagemix_run_ctx *ctx, void *slot)
{
	return dma_buf_end_cpu_access(ctx->dmabuf, ctx->direction);
}

static void sync_note(struct pagemix_run_ctx *ctx, const void *slot)
{
	const struct pagemix_sync *s = ctx->priv;

	ctx->iova = sg_dma_address(s->table->sgl);
	ctx->nr_mapped = s->table->nents;
}

static int sync_setup(struct pagemix_run_ctx *ctx)
{
	struct pagemix_sync *s;
	int err;

	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	s->attachment = dma_buf_attach(ctx->dmabuf, ctx->dev);
	if (IS_ERR(s->attachment)) {
		err = PTR_ERR(s->attachment);
		goto err_free;
	}
	s->table = dma_buf_map_attachment_unlocked(s->attachment, ctx->direction);
	if (IS_ERR(s->table)) {
		err = PTR_ERR(s->table);
		goto err_detach;
	}
	ctx->priv = s;
	return 0;

err_detach:
	dma_buf_detach(ctx->dmabuf, s->attachment);
err_free:
	kfree(s);
	return err;
}

static void sync_teardown(struct pagemix_run_ctx *ctx)
{
	struct pagemix_sync *s = ctx->priv;

	dma_buf_unmap_attachment_unlocked(s->attachment, s->table, ctx->direction);
	dma_buf_detach(ctx->dmabuf, s->attachment);
	kfree(s);
}

const struct pagemix_pair pagemix_sync = {
	.needs_buffer = true,
	.setup = sync_setup,
	.apply = sync_begin,
	.undo = sync_end,
	.note = sync_note,
	.teardown = sync_teardown,
};
