import { DatabaseRecords } from '../../audit';
import { type Extensions, provideBasicPorts, type OpenPorts } from '../../extensions';
import { DatabaseKeys } from '../../keys';
import type { Database, Settings } from '../../platform';

export function giveCommandPorts(extensions: Extensions, database: Database, settings: Settings): OpenPorts {
  const records = new DatabaseRecords(database);
  const keys = new DatabaseKeys(database);
  extensions.providePort('records.read', () => records);
  extensions.providePort('keys.read', () => keys);
  extensions.providePort('mail.send', () => ({
    send: () => Promise.reject(new Error('A command sends no mail: let a job of the extension do it.')),
  }));
  return provideBasicPorts(extensions, database, settings);
}
