// SPDX-License-Identifier: GPL-2.0-only
/* The table of operations. */
#include <linux/kernel.h>
#include <linux/string.h>

#include "compat.h"
#include "ops.h"

static int nop_apply(struct pagemix_run_ctx *ctx, void *slot)
{
	return 0;
}

static const struct pagemix_pair nop = {
	.apply = nop_apply,
};

static const struct pagemix_op ops[] = {
	{ "nop", &nop, PAGEMIX_APPLY },
	{ "map_sgtable", &pagemix_sgtable, PAGEMIX_APPLY },
	{ "unmap_sgtable", &pagemix_sgtable, PAGEMIX_UNDO },
	{ "attach_map", &pagemix_attach, PAGEMIX_APPLY },
	{ "map_page", &pagemix_page, PAGEMIX_APPLY },
	{ "map_single", &pagemix_single, PAGEMIX_APPLY },
	{ "unmap_page", &pagemix_page, PAGEMIX_UNDO },
	{ "iommu_map", &pagemix_domain_runs, PAGEMIX_APPLY },
	{ "iommu_map_sg", &pagemix_domain_sg, PAGEMIX_APPLY },
	{ "iommu_unmap", &pagemix_domain_sg, PAGEMIX_UNDO },
	{ "sync_begin", &pagemix_sync, PAGEMIX_APPLY },
	{ "sync_end", &pagemix_sync, PAGEMIX_UNDO },
	{ "coherent_alloc", &pagemix_coherent, PAGEMIX_APPLY },
	{ "coherent_free", &pagemix_coherent, PAGEMIX_UNDO },
	{ "pool_alloc", &pagemix_pool, PAGEMIX_APPLY },
	{ "pool_free", &pagemix_pool, PAGEMIX_UNDO },
#ifdef PAGEMIX_HAS_IOVA_LINK
	{ "iova_link", &pagemix_iova, PAGEMIX_APPLY },
	{ "iova_unlink", &pagemix_iova, PAGEMIX_UNDO },
#endif
};

u32 pagemix_nr_ops(void)
{
	return ARRAY_SIZE(ops);
}

const struct pagemix_op *pagemix_op_at(u32 index)
{
	return index < ARRAY_SIZE(ops) ? &ops[index] : NULL;
}

const struct pagemix_op *pagemix_op_find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		if (!strcmp(ops[i].name, name))
			return &ops[i];
	return NULL;
}

/**
 * pagemix_op_takes - does an operation know these flags?
 * @op:    the operation
 * @flags: PAGEMIX_RUN_*
 *
 * Return: whether each of @flags means something to @op.
 */
bool pagemix_op_takes(const struct pagemix_op *op, u32 flags)
{
	const struct pagemix_pair *pair = op->pair;

	if (flags & PAGEMIX_RUN_COLD &&
	    (pair->cold == PAGEMIX_COLD_NONE ||
	     (pair->cold == PAGEMIX_COLD_FRESH && op->half == PAGEMIX_UNDO)))
		return false;
	if (flags & PAGEMIX_RUN_HOLD && (op->half == PAGEMIX_UNDO || !pair->undo))
		return false;
	return true;
}
