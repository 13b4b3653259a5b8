// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPU access to a mapped buffer: dma_buf_begin_cpu_access() and
 * dma_buf_end_cpu_access(), which alternate; each operation times one of them.
 *
 * One attachment is made and mapped for the whole run, as by a driver that keeps
 * a queue of buffers mapped. Of a coherent device what remains is the walk over
 * the scatter-gather table; otherwise caches are cleaned and invalidated.
 */
#include <linux/dma-buf.h>
#include <linux/slab.h>

#include "buffer.h"
#include "compat.h"
#include "ops.h"

/**
 * struct sync - state of a run
 * @attachment: to the buffer
 * @table:      its mapping
 * @begun:      the CPU has the buffer
 */
struct sync {
	struct dma_buf_attachment *attachment;
	struct sg_table *table;
	bool begun;
};

static int sync_begin(struct pagemix_run_ctx *ctx)
{
	struct sync *s = ctx->priv;
	int err;

	err = dma_buf_begin_cpu_access(ctx->dmabuf, ctx->direction);
	if (!err)
		s->begun = true;
	return err;
}

static int sync_end(struct pagemix_run_ctx *ctx)
{
	struct sync *s = ctx->priv;

	s->begun = false;
	return dma_buf_end_cpu_access(ctx->dmabuf, ctx->direction);
}

/* The buffer is given back; its end never fails (buffer_end_cpu_access()). */
static void sync_begin_restore(struct pagemix_run_ctx *ctx)
{
	sync_end(ctx);
}

static int sync_setup(struct pagemix_run_ctx *ctx)
{
	struct sync *s;
	int err;

	/* Nothing here depends on fresh addresses. */
	if (ctx->cold)
		return -EINVAL;
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
	ctx->iova = sg_dma_address(s->table->sgl);
	ctx->nr_mapped = s->table->nents;
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
	struct sync *s = ctx->priv;

	if (s->begun)
		sync_end(ctx);
	dma_buf_unmap_attachment_unlocked(s->attachment, s->table, ctx->direction);
	dma_buf_detach(ctx->dmabuf, s->attachment);
	kfree(s);
}

const struct pagemix_op pagemix_op_sync_begin = {
	.name = "sync_begin",
	.needs_buffer = true,
	.setup = sync_setup,
	.op = sync_begin,
	.restore = sync_begin_restore,
	.teardown = sync_teardown,
};

const struct pagemix_op pagemix_op_sync_end = {
	.name = "sync_end",
	.needs_buffer = true,
	.setup = sync_setup,
	.prepare = sync_begin,
	.op = sync_end,
	.teardown = sync_teardown,
};
