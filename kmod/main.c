// SPDX-License-Identifier: GPL-2.0-only
/*
 * pagemix: what the pages behind a dma-buf cost, from allocation to unmap.
 */
#include <linux/module.h>

#include "compat.h"
#include "heap.h"
#include "target.h"

static int __init pagemix_init(void)
{
	int err;

	err = pagemix_heap_register();
	if (err)
		return err;
	err = pagemix_target_register();
	if (err)
		pagemix_heap_unregister();
	return err;
}

static void __exit pagemix_exit(void)
{
	pagemix_target_unregister();
	pagemix_heap_unregister();
}

module_init(pagemix_init);
module_exit(pagemix_exit);

MODULE_DESCRIPTION("dma-buf heap with any page-order mix, and a DMA mapping microbenchmark");
MODULE_LICENSE("GPL");
MODULE_VERSION(PAGEMIX_VERSION);
PAGEMIX_IMPORT_DMA_BUF;
