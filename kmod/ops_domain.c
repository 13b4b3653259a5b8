// SPDX-License-Identifier: GPL-2.0-only
/*
 * The IOMMU API below the DMA API, on a paging domain of the module's own: page
 * tables alone, without the allocation of IOVAs. The device is attached to the
 * domain for the run, as some drivers do nothing before that, and goes back to
 * the DMA API's domain at the end. A group with other devices is refused by the
 * kernel (EINVAL). A slot is the address of the buffer; in cold runs each repetition
 * has its own, behind that of the one before.
 */
#include <linux/iommu.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "buffer.h"
#include "compat.h"
#include "ops.h"

/* From where on buffers are mapped: aligned to every leaf size, away from reserved ranges. */
#define DOMAIN_IOVA	SZ_4G

/**
 * struct pagemix_own_domain - state of a run
 * @domain: the paging domain
 * @table:  one entry a chunk
 * @prot:   IOMMU_READ and so on
 * @stride: distance of two slots: their last-level page tables are their own
 */
struct pagemix_own_domain {
	struct iommu_domain *domain;
	struct sg_table table;
	int prot;
	u64 stride;
};

static int domain_prot(enum dma_data_direction direction)
{
	switch (direction) {
	case DMA_TO_DEVICE:
		return IOMMU_READ | IOMMU_CACHE;
	case DMA_FROM_DEVICE:
		return IOMMU_WRITE | IOMMU_CACHE;
	default:
		return IOMMU_READ | IOMMU_WRITE | IOMMU_CACHE;
	}
}

static int domain_slot_init(struct pagemix_run_ctx *ctx, void *slot, u32 index)
{
	const struct pagemix_own_domain *d = ctx->priv;
	unsigned long *iova = slot;

	*iova = DOMAIN_IOVA + index * d->stride;
	return 0;
}

/* One call for each run of the buffer. */
static int domain_map(struct pagemix_run_ctx *ctx, void *slot)
{
	const struct pagemix_own_domain *d = ctx->priv;
	const unsigned long iova = *(unsigned long *)slot;
	size_t chunk = 0, mapped = 0;
	struct pagemix_run run;
	int err;

	while (pagemix_buffer_next_run(ctx->buffer, &chunk, &run)) {
		err = pagemix_iommu_map(d->domain, iova + mapped, run.phys, run.bytes, d->prot);
		if (err) {
			if (mapped)
				iommu_unmap(d->domain, iova, mapped);
			return err;
		}
		mapped += run.bytes;
	}
	return 0;
}

static int domain_map_sg(struct pagemix_run_ctx *ctx, void *slot)
{
	struct pagemix_own_domain *d = ctx->priv;
	const unsigned long iova = *(unsigned long *)slot;
	ssize_t mapped = pagemix_iommu_map_sg(d->domain, iova, d->table.sgl, d->table.orig_nents,
					      d->prot);

	if (mapped < 0)
		return mapped;
	if (mapped == ctx->buffer->bytes)
		return 0;
	iommu_unmap(d->domain, iova, mapped);
	return -ENOMEM;
}

static int domain_unmap(struct pagemix_run_ctx *ctx, void *slot)
{
	const struct pagemix_own_domain *d = ctx->priv;
	const size_t bytes = ctx->buffer->bytes;

	return iommu_unmap(d->domain, *(unsigned long *)slot, bytes) == bytes ? 0 : -EIO;
}

static void domain_note(struct pagemix_run_ctx *ctx, const void *slot)
{
	ctx->iova = *(const unsigned long *)slot;
	ctx->nr_mapped = ctx->buffer->nr_runs;
}

static int domain_setup(struct pagemix_run_ctx *ctx)
{
	struct pagemix_own_domain *d;
	u64 last;
	int err;

	d = kzalloc(sizeof(*d), GFP_KERNEL);
	if (!d)
		return -ENOMEM;
	d->prot = domain_prot(ctx->direction);
	d->stride = ALIGN(ctx->buffer->bytes, PMD_SIZE);
	last = DOMAIN_IOVA + (ctx->cold ? ctx->repetitions : 1) * d->stride - 1;
	err = pagemix_buffer_sgtable(ctx->buffer, &d->table);
	if (err)
		goto free;
	d->domain = pagemix_paging_domain_alloc(ctx->dev);
	if (IS_ERR(d->domain)) {
		err = PTR_ERR(d->domain);
		goto free_table;
	}
	err = iommu_attach_device(d->domain, ctx->dev);
	if (err)
		goto free_domain;
	err = -ERANGE;
	if (d->domain->geometry.aperture_start > DOMAIN_IOVA ||
	    d->domain->geometry.aperture_end < last)
		goto detach;
	ctx->priv = d;
	return 0;

detach:
	iommu_detach_device(d->domain, ctx->dev);
free_domain:
	iommu_domain_free(d->domain);
free_table:
	sg_free_table(&d->table);
free:
	kfree(d);
	return err;
}

static void domain_teardown(struct pagemix_run_ctx *ctx)
{
	struct pagemix_own_domain *d = ctx->priv;

	iommu_detach_device(d->domain, ctx->dev);
	iommu_domain_free(d->domain);
	sg_free_table(&d->table);
	kfree(d);
}

const struct pagemix_pair pagemix_domain_runs = {
	.needs_buffer = true,
	.owns_domain = true,
	.cold = PAGEMIX_COLD_ALL,
	.slot_size = sizeof(unsigned long),
	.setup = domain_setup,
	.slot_init = domain_slot_init,
	.apply = domain_map,
	.undo = domain_unmap,
	.note = domain_note,
	.teardown = domain_teardown,
};

const struct pagemix_pair pagemix_domain_sg = {
	.needs_buffer = true,
	.owns_domain = true,
	.cold = PAGEMIX_COLD_ALL,
	.slot_size = sizeof(unsigned long),
	.setup = domain_setup,
	.slot_init = domain_slot_init,
	.apply = domain_map_sg,
	.undo = domain_unmap,
	.note = domain_note,
	.teardown = domain_teardown,
};
