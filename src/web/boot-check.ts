import { PATH_METADATA } from '@nestjs/common/constants';
import { MetadataScanner, ModulesContainer, Reflector } from '@nestjs/core';
import { accessMetadata } from './access-rule';

/** Stops the boot when a handler does not say who may call it, and names every one that does not. */
export function refuseHandlersWithoutAccess(modules: ModulesContainer): void {
  const reflector = new Reflector();
  const scanner = new MetadataScanner();
  const open: string[] = [];
  for (const { controllers } of modules.values()) {
    for (const { metatype } of controllers.values()) {
      if (typeof metatype !== 'function') continue;
      const prototype = metatype.prototype as object;
      for (const name of scanner.getAllMethodNames(prototype)) {
        const handler = Reflect.get(prototype, name) as () => unknown;
        if (!Reflect.hasMetadata(PATH_METADATA, handler)) continue;
        const rule: unknown = reflector.getAllAndOverride(accessMetadata, [handler, metatype]);
        if (rule === undefined) open.push(`${metatype.name}.${name}`);
      }
    }
  }
  if (open.length > 0) throw new Error(`These handlers lack @Access: ${open.join(', ')}`);
}
