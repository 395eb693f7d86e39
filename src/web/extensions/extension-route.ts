import { applyDecorators, SetMetadata, UseInterceptors } from '@nestjs/common';
import type { ActionOptions, AccessDecorator, PageParts } from '../../../packages/extension/src/pages';
import { Action, Csv, Data, Page, Redirects } from '../routes/kinds';
import { ExtensionHandler, routeMetadata, type ExtensionRouteMetadata } from './extension-handler';

type ExtensionRouteKinds = Pick<PageParts, 'Page' | 'Data' | 'Action' | 'Csv' | 'Redirects'>;

export const extensionKinds: ExtensionRouteKinds = {
  Page: (path, view, access) => route({ view }, path, access, Page(path, view, access)),
  Data: (path, access) => route({ isJson: true }, path, access, Data(path, access)),
  Action: (path, access, { audit, ...options }: ActionOptions) =>
    route(
      typeof audit === 'string' ? { audit, isJson: true } : { isJson: true },
      path,
      access,
      // Extensions have their own tables, so the entry is written separately after the handler.
      Action(path, access, { ...options, audit: { none: 'an entry of an extension follows its handler' } }),
    ),
  Csv: (path, access, fileName) => route({}, path, access, Csv(path, access, fileName)),
  Redirects: (from, to, access) => route({}, from, access, Redirects(from, to, access)),
};

function route(
  metadata: ExtensionRouteMetadata,
  path: string,
  access: AccessDecorator | undefined,
  kind: MethodDecorator,
): MethodDecorator {
  if (typeof access !== 'function')
    throw new TypeError(`the route ${path} does not say who may call it, such as Access.session()`);
  return applyDecorators(kind, SetMetadata(routeMetadata, metadata), UseInterceptors(ExtensionHandler));
}
