export { BigintColumn } from './bigint-column';
export { applicationUrl } from './connection-url';
export { CLOCK_TOLERANCE_MS, ClockWatch } from './clock-watch';
export { Database, type Tx } from './database';
export { DatabaseClock } from './database-clock';
export { DatabaseModule } from './database.module';
export { RegionColumn, RegionsColumn } from './region-column';
export { extensionLogin, extensionLoginName, extensionRole, urlForLogin } from './extension-login';
export { type ExtensionTables, ExtensionTablesRefused, type SqlFile } from './extension-role';
export { RoleDatabase } from './role-database';
export {
  archiveFolderOf,
  DataFolderInUse,
  EmbeddedPostgresFailure,
  installedPostgresVersion,
  isEmbeddedPostgresRunning,
  postgresMajorOf,
  runningEmbeddedPostgres,
  startEmbeddedPostgres,
} from './embedded-postgres';
export { removeServerFolder } from './embedded/folders';
export { takeBaseBackup } from './embedded/base-backup';
export { claimForRestore, RestoredPostgres } from './restored-postgres';
export { ChecksOf, columnsOf } from './definition-columns';
export { everyRow, Keyset, type Page, type PageRequest } from './keyset';
export { migrate } from './migrate';
export type { InstalledTables } from './migrate-extensions';
export { moveDatabase, type MoveProgress, targetProblem } from './move';
export { MigrationFailed } from './run-migrations';
export { Notifications } from './notifications';
export { OwnWrites } from './own-writes';
export { attachDatabase, type OpenDatabase, type OpeningDatabase, startDatabase } from './open-database';
export { resilientPoolOptions } from './pool-options';
export { QuarantineState } from './quarantine-state';
export { RevisionWatch } from './revision-watch';
export { readRows, type TableRow, type StoredRow } from './row';
export { StorageLimit, type StoredAmount } from './storage-limit';
