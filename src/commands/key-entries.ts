import { ActivityLog, systemActor } from '../audit';
import { Limits } from '../billing';
import { PayerService } from '../identity';
import { KeyActivity, KeyRegister } from '../keys';
import type { Database } from '../platform';
import { COMMAND_LINE } from './command';

export const commandActor = systemActor(COMMAND_LINE);

export const keyEntriesOf = (database: Database): KeyActivity =>
  new KeyActivity(
    new KeyRegister(database, new Limits(database)),
    new PayerService(database),
    new ActivityLog(database),
  );
