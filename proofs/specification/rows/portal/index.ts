import type { Row } from '../../row';

/** The portal and the administration. */
export const portalRows: readonly Row[] = [];
