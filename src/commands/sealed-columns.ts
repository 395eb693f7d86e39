import { sealedConversations } from '../chat';
import { sealedResponses } from '../gateway';
import { sealedFactors } from '../identity';
import type { SealedColumn } from '../platform';
import { sealedSamples } from '../quality';
import { sealedSalts } from '../routing';
import { sealedAnswers } from '../web';

/** Everything that is encrypted in the database, but for the credentials of suppliers. */
export const sealedColumns: readonly SealedColumn[] = [
  ...sealedFactors,
  ...sealedSalts,
  ...sealedConversations,
  ...sealedSamples,
  ...sealedResponses,
  ...sealedAnswers,
];
