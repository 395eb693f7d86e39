import { sealedChannels } from '../alerts';
import { sealedCredentials } from '../catalogue';
import { sealedConversations } from '../chat';
import { sealedResponses } from '../gateway';
import { sealedFactors } from '../identity';
import type { SealedColumn } from '../platform';
import { sealedSamples } from '../quality';
import { sealedSalts } from '../autorouter';
import { sealedAnswers } from '../web';

export const sealedColumns: readonly SealedColumn[] = [
  ...sealedCredentials,
  ...sealedFactors,
  ...sealedSalts,
  ...sealedConversations,
  ...sealedSamples,
  ...sealedResponses,
  ...sealedAnswers,
  ...sealedChannels,
];
