export { PortalModule } from './portal.module';
export { verifyDirectoryRoles } from './account/directories';
