import type { Row } from '../../row';
import { serviceRows } from './service';

/** What is served below `/v1`, and the limits of it. */
export const gatewayRows: readonly Row[] = [...serviceRows];
