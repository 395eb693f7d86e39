import 'reflect-metadata';
import { entities } from '#inside/boot/app.module';
import { assertNoDrift } from '../../support/drift';

test('entities match the migrated schema', () => assertNoDrift(entities));
