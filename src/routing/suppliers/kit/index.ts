export { BodyEdits, jsonBody, withoutListMark } from './body';
export { type ContractFixtures, describeSupplierContract } from './contract';
export { encodeForm } from './form';
export { type PictureMaker, picturesOf } from './picture-rules';
export { judgeErrorResponse, redactedError } from './judge';
export { KnownFields, knownFields, limitFields, nestedFields, serviceFields } from './known-fields';
export { type OperationName, operationNames, OPERATIONS, probeFor, type WireDialect } from './operations';
export { authorisation, endpoint, forwardedHeaders, prepareCall } from './request';
export { CallSecrets } from './secrets';
export { isSteering, steeringFields } from './steering';
export type {
  CallFormFile,
  Operations,
  CallBody,
  StyleCall,
  ListCall,
  PictureRule,
  PreparedStyleCall,
  CoreStyle,
  StyleUnframer,
} from './style';
