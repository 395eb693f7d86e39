export {
  BeforeOrganisationMerge,
  BeforeUserErasure,
  OnOrganisationMerge,
  OnUserErasure,
  type OrganisationMerger,
} from './account-hooks';
export { createHook } from './hook';
export { HooksModule } from './hooks.module';
export { HooksService } from './hooks.service';
