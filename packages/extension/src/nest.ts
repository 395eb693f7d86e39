import type * as Nest from '@nestjs/common';
import { HOST_SYMBOL } from './contract-version';
import type { PageParts } from './pages';

export { HOST } from './contract-version';
export type * from './pages';

/** What decorators have noted. */
export interface MetadataReader {
  get<Value>(key: string, target: object): Value;
  getAllAndOverride<Value>(key: string, targets: readonly object[]): Value;
}

/** What the host lends: its own Nest, and the kinds of routes. A second copy of Nest has other classes. */
export interface HostParts extends PageParts {
  readonly Module: typeof Nest.Module;
  readonly Injectable: typeof Nest.Injectable;
  readonly Controller: (prefix?: string) => ClassDecorator;
  readonly Inject: typeof Nest.Inject;
  readonly Optional: typeof Nest.Optional;
  readonly Body: typeof Nest.Body;
  readonly Param: typeof Nest.Param;
  readonly Query: typeof Nest.Query;
  readonly Req: typeof Nest.Req;
  readonly UseGuards: typeof Nest.UseGuards;
  readonly SetMetadata: typeof Nest.SetMetadata;
  readonly Reflector: new () => MetadataReader;
  readonly HttpException: typeof Nest.HttpException;
  readonly BadRequestException: typeof Nest.BadRequestException;
  readonly ForbiddenException: typeof Nest.ForbiddenException;
  readonly NotFoundException: typeof Nest.NotFoundException;
  readonly ConflictException: typeof Nest.ConflictException;
}

const host = Reflect.get(globalThis, HOST_SYMBOL) as HostParts | undefined;

/** A part of the host. Outside of it, using one says so. */
function lent<Name extends keyof HostParts>(name: Name): HostParts[Name] {
  const refuse = (): never => {
    throw new Error(
      `${name} of @switchboard/extension/nest belongs to a running Switchboard, which lends it. ` +
        'It cannot be used outside of one.',
    );
  };
  const absent = new Proxy(class {}, { apply: refuse, construct: refuse, get: refuse });
  return host?.[name] ?? (absent as unknown as HostParts[Name]);
}

export const Module = lent('Module');
export const Injectable = lent('Injectable');
export const Controller = lent('Controller');
export const Inject = lent('Inject');
export const Optional = lent('Optional');
export const Body = lent('Body');
export const Param = lent('Param');
export const Query = lent('Query');
export const Req = lent('Req');
export const UseGuards = lent('UseGuards');
export const SetMetadata = lent('SetMetadata');
export const Reflector = lent('Reflector');
export const HttpException = lent('HttpException');
export const BadRequestException = lent('BadRequestException');
export const ForbiddenException = lent('ForbiddenException');
export const NotFoundException = lent('NotFoundException');
export const ConflictException = lent('ConflictException');

export const Page = lent('Page');
export const Data = lent('Data');
export const Action = lent('Action');
export const Csv = lent('Csv');
export const Redirects = lent('Redirects');
export const Access = lent('Access');
export const TheReader = lent('TheReader');
export const TheCaller = lent('TheCaller');
export const Takes = lent('Takes');
export const field = lent('field');
export const PathId = lent('PathId');
export const PathText = lent('PathText');
export const done = lent('done');
export const fault = lent('fault');
export const column = lent('column');
export const tableOf = lent('tableOf');
