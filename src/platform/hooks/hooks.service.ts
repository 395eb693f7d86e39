import { Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import type { Hook } from './hook';

/** Finds the methods of all providers that are decorated with a hook. */
@Injectable()
export class HooksService {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  /** Returns the handlers of a hook in the order in which their modules are imported. */
  handlersOf<Handler>(hook: Hook<Handler>): Handler[] {
    return this.registrationsOf(hook).map(({ handler }) => handler);
  }

  /** Returns the handlers of a hook with the options of their decorators. */
  registrationsOf<Handler, Options>(
    hook: Hook<Handler, Options>,
  ): { readonly handler: Handler; readonly options: Options }[] {
    // An aliased provider is listed twice.
    const instances = new Set(this.discovery.getProviders().map((wrapper): unknown => wrapper.instance));
    return [...instances].flatMap((instance) => {
      if (typeof instance !== 'object' || instance === null) return [];
      const prototype = Object.getPrototypeOf(instance) as Record<string, unknown> | null;
      return this.scanner.getAllMethodNames(prototype).flatMap((name) => {
        const method = prototype?.[name];
        if (typeof method !== 'function') return [];
        const options = Reflect.getMetadata(hook.KEY, method) as Options | undefined;
        return options === undefined ? [] : [{ options, handler: method.bind(instance) as Handler }];
      });
    });
  }
}
