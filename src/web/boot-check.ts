import { PATH_METADATA } from '@nestjs/common/constants';
import { MetadataScanner, ModulesContainer, Reflector } from '@nestjs/core';
import { accessMetadata } from './access-rule';

export function refuseHandlersWithoutAccess(modules: ModulesContainer): void {
  const reflector = new Reflector();
  const scanner = new MetadataScanner();
  const undeclared: string[] = [];
  for (const { controllers } of modules.values()) {
    for (const { metatype } of controllers.values()) {
      if (typeof metatype !== 'function') continue;
      const prototype = metatype.prototype as object;
      for (const name of scanner.getAllMethodNames(prototype)) {
        const handler = Reflect.get(prototype, name) as () => unknown;
        if (!Reflect.hasMetadata(PATH_METADATA, handler)) continue;
        const rule: unknown = reflector.getAllAndOverride(accessMetadata, [handler, metatype]);
        if (rule === undefined) undeclared.push(`${metatype.name}.${name}`);
      }
    }
  }
  if (undeclared.length > 0) throw new Error(`These handlers lack @Access: ${undeclared.join(', ')}`);
}
