import { DatabaseRecords } from '../../audit';
import { type Extensions, givePlainPorts, type OpenPorts } from '../../extensions';
import { DatabaseKeys } from '../../keys';
import type { Database, Settings } from '../../platform';

/** The ports that answer in a command: those that need no running service. */
export function giveCommandPorts(extensions: Extensions, database: Database, settings: Settings): OpenPorts {
  const records = new DatabaseRecords(database);
  const keys = new DatabaseKeys(database);
  extensions.givePort('records.read', () => records);
  extensions.givePort('keys.read', () => keys);
  extensions.givePort('mail.send', () => ({
    send: () => Promise.reject(new Error('A command sends no mail: let a job of the extension do it.')),
  }));
  return givePlainPorts(extensions, database, settings);
}
