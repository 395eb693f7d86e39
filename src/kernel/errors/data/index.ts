import { accessFaults } from './access';
import { billingFaults } from './billing';
import { operationFaults } from './operations';
import { platformFaults } from './platform';
import { realtimeFaults } from './realtime';
import { requestFaults } from './requests';
import { routingFaults } from './routing';
import { supplierFaults } from './suppliers';

export const faultGroups = [
  ...accessFaults,
  ...requestFaults,
  ...routingFaults,
  ...supplierFaults,
  ...billingFaults,
  ...operationFaults,
  ...realtimeFaults,
  ...platformFaults,
] as const;

type MessagesOf = (typeof faultGroups)[number]['messages'];
type KeysOfEach<T> = T extends unknown ? keyof T : never;

export type ErrorCode = KeysOfEach<MessagesOf>;
