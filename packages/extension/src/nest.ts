import type * as Nest from '@nestjs/common';
import { HOST_SYMBOL } from './contract-version';
import type { PageParts } from './pages';

export { HOST } from './contract-version';
export type * from './pages';

/** Reader of the metadata that decorators set. */
export interface MetadataReader {
  get<Value>(key: string, target: object): Value;
  getAllAndOverride<Value>(key: string, targets: readonly object[]): Value;
}

/**
 * Parts that the host provides: its own Nest and the kinds of routes, because a second copy of Nest has different
 * classes.
 */
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

/** Returns a part of the host. Outside of a running host, using the part throws an explanation. */
function hostPart<Name extends keyof HostParts>(name: Name): HostParts[Name] {
  const refuse = (): never => {
    throw new Error(
      `${name} of @switchboard/extension/nest belongs to a running Switchboard, which lends it. ` +
        'It cannot be used outside of one.',
    );
  };
  const absent = new Proxy(class {}, { apply: refuse, construct: refuse, get: refuse });
  return host?.[name] ?? (absent as unknown as HostParts[Name]);
}

export const Module = hostPart('Module');
export const Injectable = hostPart('Injectable');
export const Controller = hostPart('Controller');
export const Inject = hostPart('Inject');
export const Optional = hostPart('Optional');
export const Body = hostPart('Body');
export const Param = hostPart('Param');
export const Query = hostPart('Query');
export const Req = hostPart('Req');
export const UseGuards = hostPart('UseGuards');
export const SetMetadata = hostPart('SetMetadata');
export const Reflector = hostPart('Reflector');
export const HttpException = hostPart('HttpException');
export const BadRequestException = hostPart('BadRequestException');
export const ForbiddenException = hostPart('ForbiddenException');
export const NotFoundException = hostPart('NotFoundException');
export const ConflictException = hostPart('ConflictException');

export const Page = hostPart('Page');
export const Data = hostPart('Data');
export const Action = hostPart('Action');
export const Csv = hostPart('Csv');
export const Redirects = hostPart('Redirects');
export const Access = hostPart('Access');
export const TheReader = hostPart('TheReader');
export const TheCaller = hostPart('TheCaller');
export const Takes = hostPart('Takes');
export const field = hostPart('field');
export const PathId = hostPart('PathId');
export const PathText = hostPart('PathText');
export const done = hostPart('done');
export const fault = hostPart('fault');
export const column = hostPart('column');
export const tableOf = hostPart('tableOf');
