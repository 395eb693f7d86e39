export { ExtensionRefused } from './extension-refused';
export { Extensions } from './extensions';
export { ExtensionsModule } from './extensions.module';
export { provideBasicPorts, type OpenPorts } from './host-ports';
export { loadExtensions } from './load-extensions';
export type { LoadedExtension, ExtensionPart } from './loaded-extension';
export { policyReason } from './policy-reason';
export { readMigrationFiles, tablesOf } from './migration-files';
