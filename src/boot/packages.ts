/** Re-exported for tests: classes and metadata of a second copy would not match those of the bundle. */
export { Logger } from '@nestjs/common';
export { APP_FILTER, DiscoveryService, MetadataScanner, ModulesContainer, NestFactory } from '@nestjs/core';
export { Type } from 'class-transformer';
