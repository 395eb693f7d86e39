/** A start of the embedded PostgreSQL that cannot succeed; the message tells the operator what to do. */
export class EmbeddedPostgresFailure extends Error {
  override readonly name: string = 'EmbeddedPostgresFailure';
}

/** Another living process already works on this data folder. */
export class DataFolderInUse extends EmbeddedPostgresFailure {
  override readonly name = 'DataFolderInUse';

  constructor(folder: string, pid: number) {
    super(
      `The data folder ${folder} is in use by the process ${pid}. ` +
        'Stop that process first, or give this one a data folder of its own (DATA_FOLDER).',
    );
  }
}

const otherDatabase = 'or point DATABASE_URL at a PostgreSQL server of your own';

/** Turns an error of the system or the server into a sentence that an operator can act on. */
export function explainFailure(cause: unknown, folder: string): EmbeddedPostgresFailure {
  if (cause instanceof EmbeddedPostgresFailure) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new EmbeddedPostgresFailure(adviceFor(reason, folder), { cause });
}

function adviceFor(reason: string, folder: string): string {
  if (/ENOSPC|EDQUOT|No space left on device|Disk quota|free disk space/i.test(reason)) {
    return `The disk that holds ${folder} is full. Free at least 200 MB there, ${otherDatabase}.`;
  }
  // Node reports a read-only file system as ENOENT when it creates several folders at once.
  if (/EROFS|Read-only file system|ENOTDIR|ENOENT.*mkdir/i.test(reason)) {
    return `The folder ${folder} cannot be created or written there. Set DATA_FOLDER to another one, ${otherDatabase}. (${reason})`;
  }
  if (/EACCES|EPERM|Permission denied|not permitted/i.test(reason)) {
    return (
      `The embedded PostgreSQL may not use ${folder}: permission denied. ` +
      `Give this user the folder (chown, chmod), set DATA_FOLDER to another one, ${otherDatabase}. (${reason})`
    );
  }
  if (/incompatible with server|initialized by PostgreSQL version/i.test(reason)) {
    return (
      `The data in ${folder} was written by another major version of PostgreSQL. ` +
      `Start the version that wrote it, ${otherDatabase}. (${reason})`
    );
  }
  return `The embedded PostgreSQL in ${folder} did not start: ${reason}`;
}
