import 'reflect-metadata';
import { entities } from '#inside/boot/app.module';
import { assertNoDrift } from '../../support/drift';

test('entities say what the migrations made', () => assertNoDrift(entities));
