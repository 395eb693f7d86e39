import { join } from 'node:path';
import { processEnvironment } from '../config/process-environment';

/** The supervisor tells each of its processes its number by this. */
export const PROCESS_VARIABLE = 'SWITCHBOARD_PROCESS';

/** And the address that all of them serve. */
export const ADDRESS_VARIABLE = 'SWITCHBOARD_ADDRESS';

const given = processEnvironment[PROCESS_VARIABLE];

/** The number of this process among those of its node, from 1; null for one that is alone. */
export const ownProcess: number | null = given === undefined ? null : Number(given);

/** Where a process keeps what others of its node must not write to; the first has what one alone has. */
export const ownFolder = (dataFolder: string): string =>
  ownProcess === null || ownProcess === 1 ? dataFolder : join(dataFolder, 'processes', String(ownProcess));
