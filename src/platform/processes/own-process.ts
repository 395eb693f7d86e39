import { join } from 'node:path';
import { processEnvironment } from '../config/process-environment';

/** Variable with which the supervisor gives each process its number. */
export const PROCESS_VARIABLE = 'SWITCHBOARD_PROCESS';

/** Variable with the address that all processes serve. */
export const ADDRESS_VARIABLE = 'SWITCHBOARD_ADDRESS';

const ownNumber = processEnvironment[PROCESS_VARIABLE];

/** Number of this process within its node, from 1; null for a single process. */
export const ownProcess: number | null = ownNumber === undefined ? null : Number(ownNumber);

/** Folder that other processes of the node must not write to; the first process uses that of a single process. */
export const ownFolder = (dataFolder: string): string =>
  ownProcess === null || ownProcess === 1 ? dataFolder : join(dataFolder, 'processes', String(ownProcess));
