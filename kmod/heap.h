/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PAGEMIX_HEAP_H
#define PAGEMIX_HEAP_H

int pagemix_heap_register(void);
void pagemix_heap_unregister(void);

#endif /* PAGEMIX_HEAP_H */
