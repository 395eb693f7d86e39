export { ExtensionRefused } from './extension-refused';
export { Extensions } from './extensions';
export { ExtensionsModule } from './extensions.module';
export { givePlainPorts, type OpenPorts } from './host-ports';
export { loadExtensions } from './load-extensions';
export type { LoadedExtension, Owned } from './loaded-extension';
export { policyReason } from './policy-reason';
export { migrationFilesOf, tablesOf } from './migration-files';
