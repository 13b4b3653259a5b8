/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PAGEMIX_TARGET_H
#define PAGEMIX_TARGET_H

int pagemix_target_register(void);
void pagemix_target_unregister(void);

#endif /* PAGEMIX_TARGET_H */
