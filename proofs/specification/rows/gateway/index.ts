import type { SpecificationRow } from '../../row';
import { accessRows } from './access';
import { answerRows } from './answers';
import { chatRows } from './chat';
import { codeRows } from './codes';
import { errorRows } from './errors';
import { keyRows } from './keys';
import { limitRows } from './limits';
import { mediaRows } from './media';
import { messagesRows } from './messages';
import { nativeRows } from './native';
import { serviceRows } from './service';

/** Routes below `/v1`, with their limits. */
export const gatewayRows: readonly SpecificationRow[] = [
  ...serviceRows,
  ...accessRows,
  ...keyRows,
  ...errorRows,
  ...codeRows,
  ...chatRows,
  ...messagesRows,
  ...nativeRows,
  ...mediaRows,
  ...answerRows,
  ...limitRows,
];
