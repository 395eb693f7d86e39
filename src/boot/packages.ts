/** Tests take these packages from the artefact: classes and metadata of a second copy would not match its own. */
export { Logger } from '@nestjs/common';
export { APP_FILTER, DiscoveryService, MetadataScanner, ModulesContainer, NestFactory } from '@nestjs/core';
export { Type } from 'class-transformer';
