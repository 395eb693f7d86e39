import { ActivityLog, systemActor } from '../audit';
import { Limits } from '../billing';
import { PayerService } from '../identity';
import { KeyEntries, KeyRegister } from '../keys';
import type { Database } from '../platform';
import { COMMAND_LINE } from './command';

export const commandActor = systemActor(COMMAND_LINE);

/** Puts on record what a command does to keys. */
export const keyEntriesOf = (database: Database): KeyEntries =>
  new KeyEntries(
    new KeyRegister(database, new Limits(database)),
    new PayerService(database),
    new ActivityLog(database),
  );
