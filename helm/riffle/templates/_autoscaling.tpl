{{/* Scaling of a stage by the lag of its consumer group. */}}

{{- define "riffle.stageTarget" -}}
apiVersion: apps/v1
kind: {{ ternary "StatefulSet" "Deployment" .values.staticMembership }}
name: {{ include "riffle.name" . }}
{{- end -}}

{{- define "riffle.stageScaledObject" -}}
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  {{- include "riffle.metadata" . | nindent 2 }}
spec:
  scaleTargetRef:
    {{- include "riffle.stageTarget" . | nindent 4 }}
  pollingInterval: {{ int .root.Values.autoscaling.pollingSeconds }}
  minReplicaCount: {{ int .values.autoscaling.minReplicas }}
  # A worker without a partition has nothing to do.
  maxReplicaCount: {{ include "riffle.maxReplicas" . }}
  fallback:
    failureThreshold: {{ int .root.Values.autoscaling.fallback.failureThreshold }}
    replicas: {{ min (int .root.Values.autoscaling.fallback.replicas) (include "riffle.maxReplicas" . | int) }}
    behavior: currentReplicasIfHigher
  advanced:
    horizontalPodAutoscalerConfig:
      behavior:
        {{- include "riffle.lagBehavior" . | nindent 8 }}
  triggers:
    {{- range $topic := concat .stage.inputs .stage.ownTopics }}
    {{- include "riffle.lagTrigger" (dict "root" $.root "group" $.stage.group "topic" $topic "threshold" (include "riffle.lagThreshold" $)) | nindent 4 }}
    {{- end }}
{{- end -}}

{{/* KEDA's trigger on one topic of a consumer group. The number of workers follows the topic that asks for most. */}}
{{- define "riffle.lagTrigger" -}}
- type: kafka
  metadata:
    bootstrapServers: {{ .root.Values.kafka.bootstrap | quote }}
    consumerGroup: {{ .group }}
    topic: {{ .topic }}
    lagThreshold: {{ .threshold | quote }}
    activationLagThreshold: "0"
    offsetResetPolicy: earliest
    allowIdleConsumers: "false"
    {{- if .root.Values.kafka.tls.enabled }}
    tls: enable
    {{- end }}
    {{- with .root.Values.kafka.sasl }}
    {{- if .mechanism }}
    sasl: {{ get (dict "PLAIN" "plaintext" "SCRAM-SHA-256" "scram_sha256" "SCRAM-SHA-512" "scram_sha512" "OAUTHBEARER" "oauthbearer" "AWS_MSK_IAM" "oauthbearer") .mechanism }}
    {{- if eq .mechanism "AWS_MSK_IAM" }}
    saslTokenProvider: aws_msk_iam
    awsRegion: {{ include "riffle.awsRegion" $.root.Values.kafka.bootstrap }}
    {{- end }}
    {{- end }}
    {{- end }}
  {{- if .root.Values.kafka.tls.enabled }}
  authenticationRef: {name: {{ include "riffle.name" (dict "root" .root "component" "keda") }}}
  {{- end }}
{{- end -}}

{{/* The region of AWS's brokers, by their names. It gets kafka.bootstrap. */}}
{{- define "riffle.awsRegion" -}}
{{- $part := regexFind "\\.kafka(-serverless)?\\.[a-z0-9-]+\\.amazonaws\\.com" . -}}
{{- if not $part }}{{ fail "kafka.bootstrap has no name of AWS's brokers, such as b-1.NAME.kafka.eu-west-1.amazonaws.com:9098" }}{{ end -}}
{{- index (splitList "." $part) 2 -}}
{{- end -}}

{{/* "true" if an object of KEDA is rendered that asks Kafka. */}}
{{- define "riffle.usesKeda" -}}
{{- $root := . -}}
{{- $uses := and .Values.triton.enabled .Values.triton.autoscaling.enabled -}}
{{- range $stage := (include "riffle.workers" . | fromJson).stages -}}
{{- $values := include "riffle.stageValues" (dict "root" $root "stage" $stage) | fromJson -}}
{{- if and $values.enabled $values.autoscaling.enabled (eq $root.Values.autoscaling.engine "keda") -}}
{{- $uses = true -}}
{{- end -}}
{{- end -}}
{{- if $uses }}true{{ end -}}
{{- end -}}

{{- define "riffle.lagBehavior" -}}
scaleUp:
  stabilizationWindowSeconds: 30
  policies: [{type: Percent, value: 100, periodSeconds: 60}, {type: Pods, value: 4, periodSeconds: 60}]
# Each change of the number of workers moves partitions, so it comes seldom, and by half at most.
scaleDown:
  stabilizationWindowSeconds: {{ int .root.Values.autoscaling.scaleDownSeconds }}
  policies: [{type: Percent, value: 50, periodSeconds: 120}]
{{- end -}}

{{- define "riffle.stageAutoscaler" -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  {{- include "riffle.metadata" . | nindent 2 }}
spec:
  scaleTargetRef:
    {{- include "riffle.stageTarget" . | nindent 4 }}
  minReplicas: {{ int .values.autoscaling.minReplicas }}
  maxReplicas: {{ include "riffle.maxReplicas" . }}
  metrics:
    # Each worker's own lag; the average over the workers is compared.
    - type: Pods
      pods:
        metric: {name: riffle_lag_events}
        target: {type: AverageValue, averageValue: {{ include "riffle.lagThreshold" . | quote }}}
  behavior:
    {{- include "riffle.lagBehavior" . | nindent 4 }}
{{- end -}}
