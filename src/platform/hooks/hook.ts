import { DiscoveryService } from '@nestjs/core';

/** Decorator of methods that one class finds in all modules and runs, such as the steps of an erasure. */
export interface Hook<Handler, Options = void> {
  (
    options: Options,
  ): <Method extends Handler>(target: object, name: string, method: TypedPropertyDescriptor<Method>) => void;
  readonly KEY: string;
}

export const createHook = <Handler, Options = void>(): Hook<Handler, Options> =>
  DiscoveryService.createDecorator<Options>();
