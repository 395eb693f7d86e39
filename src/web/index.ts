export { Access } from './access';
export type { Notice } from './frame-data';
export { extensionModules, routesOf } from './extensions/extension-modules';
export { hostParts } from './extensions/host-parts';
export { extensionActions, verifyExtensions } from './extensions/verify-extensions';
export { Audited, type AuditRule } from './audited';
export { budgetHeaders, type BudgetShare, isClaudeCode, displayedShare } from './claude-code';
export { ClientAddress } from './client-address';
export { addCookie, cookieOf, privateCookieName, sessionCookieName, setCookie } from './cookies';
export { DevelopmentGuard, developmentToken, servesDeveloperPages } from './development';
export { respondEarly, type EarlyResponse, earlyError } from './errors/early-response';
export { type HttpRequest, pathOf, portalHostOf, queryOf, requestOf, wantsPage } from './http-request';
export { type Codec, objectCodec } from './idempotency/codec';
export { sealedAnswers } from './idempotency/idempotency-store';
export { Idempotency } from './idempotency/idempotency';
export { IdempotencyModule } from './idempotency/idempotency.module';
export { pageRequestOf, presentPage } from './lists';
export { IsCursor, IsFilterText } from './list-query';
export { localPath } from './local-path';
export { serveAssets } from './pages/assets';
export {
  addressOf,
  type ListDescription,
  listData,
  type ListPageModel,
  listPage,
  describeScope,
} from './pages/list-page';
export { type Localisation, localisationOf } from './pages/localisation';
export { monthOfBudgets, describeMonth, periodLabel, describePeriod } from './pages/period-text';
export { PageFrames } from './pages/page-frame';
export { languageCookie, localeOf, PageRenderer, type PortalIdentity } from './pages/page-renderer';
export { csvLine, csvRows, csvTable, type CsvContent, type CsvColumns } from './routes/csv';
export { csvFile } from './routes/csv.interceptor';
export { done, type ActionResult } from './routes/action-result';
export { OwnWritesInterceptor } from './routes/own-writes.interceptor';
export { Action, Csv, Data, Page, Redirects } from './routes/kinds';
export { okWith, Responds } from './routes/responds';
export { PortalBody } from './portal-body.interceptor';
export { PortalHosts } from './portal-hosts';
export { PathId, PathText, PathToken, QueryText } from './parameters';
export { FormPipe, IfPresent, AllowsOtherProperties } from './validation';
export { actorOf, adminScope, viewScope } from './view-scope';
export { WebModule } from './web.module';
export {
  openApiDocument,
  type Media,
  type OpenApiDocument,
  type OpenApiOperation,
  type OpenApiResponse,
  type OperationNotes,
  type Parameter,
} from './openapi/document';
export { registeredRoutes, type RegisteredRoute } from './openapi/registered-routes';
